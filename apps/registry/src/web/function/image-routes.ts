import { createRoute, z } from '@hono/zod-openapi';
import * as parameters from '@krmhub/api/parameters';
import type { ReadableBlobs } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { bytesResponse, CACHE_FOREVER, uncompressed } from '../../http/bytes-response.js';
import type { RegistryApp } from '../../http/context.js';
import { type FindHeadStore, findReleaseHead } from '../../store/find-record.js';
import { servePage } from '../serve-page.js';
import { findReleaseImages, type ReleaseImageStore, storedImageType } from './release-images.js';

export const IMAGE_ROUTES = {
  readmeImage: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}/releases/{release}/images/{digest}',
    request: {
      params: z.object({
        group: parameters.Group,
        kind: parameters.Kind,
        release: parameters.ReleaseName,
        digest: z.string(),
      }),
    },
    responses: { 200: { description: 'An image of the README of a release' } },
  }),
} as const;

export interface ImageDeps {
  store: FindHeadStore & ReleaseImageStore;
  /** Blobs that were pushed to repositories. */
  artifacts: ReadableBlobs;
}

/** As a document of its own, an image loads and runs nothing. SVG can contain styles and scripts. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/** Serves the images of READMEs as long as their release exists. The bytes decide the type, so no file is a page. */
export function imageRoutes(app: RegistryApp, { store, artifacts }: ImageDeps): void {
  servePage(app, IMAGE_ROUTES.readmeImage, {}, async (c, { params: { digest, ...name } }) => {
    const { release } = await findReleaseHead(store, name);
    const [image] = await findReleaseImages(store, release, (one) => one.digest === digest);
    const mediaType = image && (await storedImageType(artifacts, image.digest));
    const stored = mediaType && (await artifacts.read(image!.digest));
    if (!mediaType || !stored) {
      throw new KrmhubError('not-found', `image ${digest.slice(0, 100)} not found in this release`, {
        hint: 'Reload the page of the function.',
      });
    }
    return bytesResponse(c, {
      digest: image!.digest,
      mediaType,
      cacheControl: CACHE_FOREVER,
      headers: { 'Content-Security-Policy': POLICY },
      find: async () => uncompressed(stored),
    });
  });
}
