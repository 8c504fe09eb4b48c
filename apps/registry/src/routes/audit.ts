import type { AuditPage } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type { AuditFilter, AuditStore } from '@krmhub/catalog';
import type { Authority } from '../http/auth/authorize.js';
import { authorize } from '../http/auth/authorize.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { LineStreams } from '../http/line-stream.js';
import { SERVER_LIMITS } from '../limits.js';

type AuditDeps = Authority & { store: Authority['store'] & AuditStore };

const NO_STORE = 'no-store';

/** Serves the audit log, also as a stream of lines. */
export function auditRoute(app: RegistryApp, deps: AuditDeps): void {
  const { store } = deps;
  const streams = new LineStreams();
  serveRoute(app, ROUTES.audit, async (c, { query }) => {
    await authorize(c, deps, 'audit');
    const { before, limit, format, ...filter } = query;
    const asksForLines = /\bapplication\/x-ndjson\b/.test(c.req.header('accept') ?? '');
    if (format === 'jsonl' || (format === undefined && asksForLines)) {
      return streams.respond(c, () => auditLines(store, filter, before), NO_STORE);
    }
    const page: AuditPage = await store.auditRows(filter, { before, limit });
    return c.json(page, 200, { 'Cache-Control': NO_STORE });
  });
}

/** Yields the rows page by page, newest first. Rows that are added meanwhile are left out. */
async function* auditLines(
  store: AuditStore,
  filter: AuditFilter,
  first: number | undefined,
): AsyncIterable<string> {
  for (let before = first; ; ) {
    const { rows, next } = await store.auditRows(filter, { before, limit: SERVER_LIMITS.auditBatch });
    yield rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    if (next === undefined) return;
    before = next;
  }
}
