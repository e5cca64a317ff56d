"""What whoever runs Presage asks of a home: figures, status, what is in its log and whether it is sound."""
