/** Of sigstore bundles as they are written (sigstore bundle specification, 0.3); also of the artifacts that hold one. */
export const BUNDLE_MEDIA_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json';
