/**
 * Badges: SVG images with one fact about a function, for READMEs on other sites.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import * as parameters from '@krmhub/api/parameters';
import { displayedRelease, type EntryReader, type FunctionRecord } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { bytesResponse, uncompressed } from '../../http/bytes-response.js';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import type { SigningTrust } from '../../publish/trust/signing-trust.js';
import type { FindHeadStore } from '../../store/find-record.js';
import { findReleaseHead } from '../../store/find-record.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import type { StoredDefinition } from '../../workers/derive/stored-definition.js';
import { releaseVerdict, signatureLabel } from '../function/signature-states.js';
import { servePage } from '../serve-page.js';
import { BADGE_FACTS } from './badge-facts.js';
import { type Badge, badgeImage } from './badge-image.js';
import { PINNED_STATE } from './pinned-state.js';

export const BADGE_ROUTES = {
  badge: createRoute({
    method: 'get',
    path: '/badges/{group}/{kind}.svg',
    request: {
      params: z.object({ group: parameters.Group, kind: parameters.Kind }),
      query: z.object({
        show: z.enum(BADGE_FACTS, `must be one of ${BADGE_FACTS.join(', ')}`).default('release'),
      }),
    },
    responses: { 200: { description: 'A badge about the displayed release, for other sites' } },
  }),
} as const;

/** READMEs of other sites show badges, and caches such as GitHub's ask again after this time. */
const CACHE_CONTROL = 'public, max-age=300';
/** As a document of its own, the image loads and runs nothing. */
const POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'";

export interface BadgeDeps {
  store: FindHeadStore & EntryReader;
  trust: SigningTrust;
  derived: DerivedDocuments;
}

/** Serves badges: SVG images with one fact about a function. An unknown function has a badge with status 404. */
export function badgeRoutes(app: RegistryApp, { store, trust, derived }: BadgeDeps): void {
  servePage(app, BADGE_ROUTES.badge, {}, async (c, { params: { group, kind }, query: { show } }) => {
    const fn = await store.function(group, kind);
    const [entry] = fn === undefined ? await store.servedEntries(group, kind) : [];
    if (fn === undefined && entry === undefined) {
      const badge: Badge = { label: 'krmhub', message: 'function not found', tone: 'plain' };
      return c.body(badgeImage(badge), 404, { 'Content-Type': 'image/svg+xml', ...HEADERS });
    }
    const badge = await {
      release: () => releaseBadge(fn),
      signed: () => signedBadge(fn),
      pinned: () => pinnedBadge(c, fn === undefined ? { entry: entry!.entry } : storedDefinition(fn)),
    }[show]();
    const bytes = new TextEncoder().encode(badgeImage(badge));
    return bytesResponse(c, {
      digest: sha256(bytes),
      mediaType: 'image/svg+xml',
      cacheControl: CACHE_CONTROL,
      headers: HEADERS,
      find: async () => uncompressed(bytes),
    });
  });

  function releaseBadge(fn: FunctionRecord | undefined): Badge {
    if (fn === undefined) return { label: 'krmhub', message: 'from upstream', tone: 'plain' };
    const { release, yanked, deprecated } = displayedRelease(fn.releases);
    if (yanked !== undefined) return { label: 'krmhub', message: `${release} yanked`, tone: 'danger' };
    if (deprecated !== undefined)
      return { label: 'krmhub', message: `${release} deprecated`, tone: 'warning' };
    return { label: 'krmhub', message: release, tone: 'good' };
  }

  async function signedBadge(fn: FunctionRecord | undefined): Promise<Badge> {
    if (fn === undefined) return { label: 'signature', message: 'unknown', tone: 'plain' };
    const { release } = displayedRelease(fn.releases);
    const head = await findReleaseHead(store, { group: fn.group, kind: fn.kind, release });
    const { words, tone } = signatureLabel(releaseVerdict(trust.policies, head.release));
    return { label: 'signature', message: words, tone };
  }

  async function pinnedBadge(c: RegistryContext, stored: StoredDefinition): Promise<Badge> {
    const json = await derived.bytes(c, PINNED_STATE, { stored });
    const isPinned = JSON.parse(new TextDecoder().decode(json)) as boolean;
    return {
      label: 'runs',
      message: isPinned ? 'pinned' : 'can change',
      tone: isPinned ? 'good' : 'warning',
    };
  }
}

const HEADERS = { 'Content-Security-Policy': POLICY };

function storedDefinition({ group, kind, releases }: FunctionRecord): StoredDefinition {
  const { release, digest } = displayedRelease(releases);
  return { group, kind, release, digest };
}
