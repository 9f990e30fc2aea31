"""What a launch is told and what is heard from it."""
