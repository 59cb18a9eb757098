"""Maps that a discriminator cannot tell from the target."""
