/**
 * "Try it": the section on the page of a function, and the data that its script loads.
 *
 * The script is apps/browser. Nothing of a publisher runs in the page: see there.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import * as parameters from '@krmhub/api/parameters';
import { defined } from '@krmhub/schema/defined';
import { CACHE_REVALIDATE } from '../../http/bytes-response.js';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import { type FindScriptDeps, findScript } from '../function/find-script.js';
import { type ReadFunctionDeps, readFunction } from '../function/read-function.js';
import { servePage } from '../serve-page.js';
import { findReport } from './recorded-examples.js';
import { TRY_DOCUMENT } from './try-document.js';
import { isOffered } from './try-section.js';

const name = z.object({ group: parameters.Group, kind: parameters.Kind });
const query = z.object({ version: parameters.ApiVersion.optional() });
const responses = { 200: { description: 'What a browser needs to try the function' } };

export const TRY_ROUTES = {
  tryFunction: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}/try.json',
    request: { params: name, query },
    responses,
  }),
  tryRelease: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}/releases/{release}/try.json',
    request: { params: name.extend({ release: parameters.ReleaseName }), query },
    responses,
  }),
} as const;

export type TryDeps = ReadFunctionDeps & FindScriptDeps;

export function tryRoutes(app: RegistryApp, deps: TryDeps): void {
  const respond = async (
    c: RegistryContext,
    wanted: { group: string; kind: string; release?: string; version?: string | undefined },
  ): Promise<Response> => {
    const { version: asked, ...rest } = wanted;
    const reading = await readFunction(deps, { ...rest, ...defined({ version: asked }) });
    const { stored, version } = reading;
    const script = isOffered(reading) ? await findScript(c, deps, reading) : undefined;
    const report = await findReport(deps, reading);
    const input = {
      stored,
      version,
      ...defined({ script: script && { repository: script.repository, digest: script.digest }, report }),
    };
    return deps.derived.respond(c, TRY_DOCUMENT, input, {
      mediaType: 'application/json',
      cacheControl: CACHE_REVALIDATE,
      coded: true,
    });
  };
  servePage(app, TRY_ROUTES.tryFunction, {}, (c, { params, query: { version } }) =>
    respond(c, { ...params, version }),
  );
  servePage(app, TRY_ROUTES.tryRelease, {}, (c, { params, query: { version } }) =>
    respond(c, { ...params, version }),
  );
}
