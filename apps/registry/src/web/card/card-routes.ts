/**
 * Preview images of functions, which other sites show with a link.
 *
 * They are PNG files, because sites that show previews accept no SVG. The registry draws them itself, with glyphs from
 * a file, so that it needs no browser and no font.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import * as parameters from '@krmhub/api/parameters';
import { displayedRelease, type EntryReader } from '@krmhub/catalog';
import type { RegistryApp } from '../../http/context.js';
import type { SigningTrust } from '../../publish/trust/signing-trust.js';
import type { FindHeadStore } from '../../store/find-record.js';
import { findFunction, findReleaseHead } from '../../store/find-record.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import { releaseVerdict, signatureLabel } from '../function/signature-states.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { type CardFact, FUNCTION_CARD } from './card-document.js';

export const CARD_ROUTES = {
  functionCard: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}/card.png',
    request: { params: z.object({ group: parameters.Group, kind: parameters.Kind }) },
    responses: { 200: { description: 'A preview image of a function, for other sites' } },
  }),
} as const;

export interface CardDeps {
  store: FindHeadStore & EntryReader;
  trust: SigningTrust;
  derived: DerivedDocuments;
  site: Site;
}

/** Serves preview images as PNG: sites that show previews accept no SVG. They are drawn once, in another thread. */
export function cardRoutes(app: RegistryApp, { store, trust, derived, site }: CardDeps): void {
  servePage(app, CARD_ROUTES.functionCard, {}, async (c, { params: { group, kind } }) => {
    const fn = await store.function(group, kind);
    const [entry] = fn === undefined ? await store.servedEntries(group, kind) : [];
    const address = site.publicUrl === undefined ? 'krmhub' : new URL(site.publicUrl).host;
    const document = { mediaType: 'image/png', cacheControl: 'public, max-age=3600' };
    if (entry !== undefined) {
      const input = {
        name: { group: entry.group, kind: entry.kind },
        stored: { entry: entry.entry },
        facts: [{ words: 'from upstream', tone: 'plain' as const }],
        site: address,
      };
      return derived.respond(c, FUNCTION_CARD, input, document);
    }
    const found = fn ?? (await findFunction(store, { group, kind }));
    const { release, digest, yanked, deprecated } = displayedRelease(found.releases);
    const head = await findReleaseHead(store, { group: found.group, kind: found.kind, release });
    const { words, tone } = signatureLabel(releaseVerdict(trust.policies, head.release));
    const facts: CardFact[] = [
      yanked !== undefined
        ? { words: `${release} yanked`, tone: 'danger' }
        : deprecated !== undefined
          ? { words: `${release} deprecated`, tone: 'warning' }
          : { words: release, tone: 'plain' },
      { words, tone },
    ];
    const name = { group: found.group, kind: found.kind };
    const stored = { ...name, release, digest };
    return derived.respond(c, FUNCTION_CARD, { name, stored, facts, site: address }, document);
  });
}
