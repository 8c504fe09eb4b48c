import { createRoute, z } from '@hono/zod-openapi';
import { parseImageReference } from '@krmhub/schema/image-reference';
import { DigestText, Time } from './base-model.js';
import * as parameters from './parameters.js';
import { PATHS } from './paths.js';
import { errorResponses, json, notModified } from './route-responses.js';

/** The names of the fields are those of the custom datasources of Renovate, which ignores others. */
export const RenovateReleases = z
  .object({
    releases: z.array(
      z.object({
        version: z.string().openapi({
          description: 'The release, or for an image its tag',
          example: '1.2.0',
        }),
        releaseTimestamp: Time.openapi({ description: 'When the registry received the release' }),
        digest: DigestText.optional().openapi({
          description:
            'Digest of its image. Absent if it has none or several, or names its image without a digest',
        }),
        isDeprecated: z.boolean().openapi({ description: 'Whether it is deprecated or yanked' }),
        isStable: z.boolean().openapi({
          description:
            'False for a pre-release, and for a yanked release, so that no one upgrades from a deprecated release to it',
        }),
        changelogUrl: z.string().optional().openapi({
          description: 'Page of the release. Absent if the registry does not know its public URL',
        }),
        sourceUrl: z.string().optional().openapi({
          description: 'Repository of the source, by the certificate of its verified signature',
        }),
      }),
    ),
    sourceUrl: z.string().optional().openapi({ description: 'That of the newest release that has one' }),
    homepage: z.string().optional().openapi({ description: 'Page of the function' }),
  })
  .openapi('RenovateReleases', {
    description: 'Releases for Renovate, newest first, without those that were taken down',
  });
export type RenovateReleases = z.infer<typeof RenovateReleases>;

const Image = z
  .string()
  .max(parameters.REQUEST_LIMITS.maxQueryLength)
  .refine((text) => parseImageReference(text).ok, 'is not an image reference')
  .openapi({
    example: 'ghcr.io/example/set-labels',
    description: 'Repository of an image. A tag or a digest has no effect',
  });

/** What Renovate reads to propose updates. */
export const RENOVATE_ROUTES = {
  renovate: createRoute({
    method: 'get',
    path: PATHS.renovate,
    operationId: 'renovateFunction',
    tags: ['renovate'],
    summary: 'Get the releases of a function for Renovate',
    request: { params: z.object({ group: parameters.Group, kind: parameters.Kind }) },
    responses: {
      200: json('The releases', RenovateReleases),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  renovateImage: createRoute({
    method: 'get',
    path: PATHS.renovateImage,
    operationId: 'renovateImage',
    tags: ['renovate'],
    summary: 'Get the releases of the functions that run an image for Renovate, by the tags of the image',
    request: { query: z.object({ image: Image }) },
    responses: {
      200: json('The releases. None if no function runs the image', RenovateReleases),
      ...notModified,
      ...errorResponses('invalid-request'),
    },
  }),
  renovatePreset: createRoute({
    method: 'get',
    path: PATHS.renovatePreset,
    operationId: 'renovatePreset',
    tags: ['renovate'],
    summary: 'Get the preset for Renovate, with the URL of this registry',
    responses: {
      200: json('The preset', z.looseObject({})),
      ...notModified,
      ...errorResponses('invalid-request'),
    },
  }),
} as const;
