"""The needs of a host for building and running images, and the installation of what it lacks."""
