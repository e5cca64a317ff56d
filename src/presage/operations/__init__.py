"""Operations on homes: metrics, status, inspection, verification and export. None of them needs the lock."""
