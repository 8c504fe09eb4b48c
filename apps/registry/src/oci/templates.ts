import type { OciRouteName } from '@krmhub/oci';

/** Path templates for the log and the metrics. */
export const OCI_TEMPLATES: Record<OciRouteName, string> = {
  base: '/v2/',
  token: '/v2/token',
  repositories: '/v2/_catalog',
  tags: '/v2/{repository}/tags/list',
  manifest: '/v2/{repository}/manifests/{reference}',
  blob: '/v2/{repository}/blobs/{digest}',
  uploads: '/v2/{repository}/blobs/uploads/',
  upload: '/v2/{repository}/blobs/uploads/{id}',
  referrers: '/v2/{repository}/referrers/{digest}',
};
