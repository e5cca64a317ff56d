"""The patterns room: EPL patterns and MATCH_RECOGNIZE. See README.md."""
