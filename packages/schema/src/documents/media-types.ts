/** The media type of sigstore bundles (sigstore bundle specification, 0.3), and of their artifacts. */
export const BUNDLE_MEDIA_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json';
