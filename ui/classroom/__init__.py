"""A class session: a teacher's screen asks, students' phones answer, everybody sees the reveal."""
