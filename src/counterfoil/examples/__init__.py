"""Complete programs that show the library at work. They use only what any user can import, and ship in the package."""
