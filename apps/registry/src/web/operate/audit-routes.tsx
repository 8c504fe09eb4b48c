import { createRoute, z } from '@hono/zod-openapi';
import type { AuditStore } from '@krmhub/catalog';
import { AUDIT } from '../addresses.js';
import { BeforeEvent } from '../registry/read-events.js';
import { AuditLogPage } from './audit-page.js';
import type { OperatorPages } from './operator-pages.js';

const Typed = z.string().max(500, 'is longer than 500 characters').optional();

export const AUDIT_PAGE_ROUTES = {
  operateAudit: createRoute({
    method: 'get',
    path: AUDIT,
    request: {
      query: z.object({
        actor: Typed,
        action: Typed,
        object: Typed,
        outcome: z.enum(['', 'done', 'refused'], 'must be done or refused').optional(),
        before: BeforeEvent,
      }),
    },
    responses: { 200: { description: 'Who changed what, newest first' } },
  }),
} as const;

export interface AuditPageDeps {
  store: AuditStore;
}

/** Operator pages are not compressed, so that their size tells nothing about secrets. */
const ROWS_ON_PAGE = 20;

export function auditPageRoutes({ store }: AuditPageDeps, pages: OperatorPages): void {
  pages.page(AUDIT_PAGE_ROUTES.operateAudit, { needs: 'audit' }, async (_, { query }) => {
    const { before, outcome, ...typed } = query;
    const filter = {
      actor: given(typed.actor),
      action: given(typed.action),
      object: given(typed.object),
      outcome: outcome === '' ? undefined : outcome,
    };
    const { rows, next } = await store.auditRows(filter, { before, limit: ROWS_ON_PAGE });
    const shown = { rows, filter, next, isFirst: before === undefined };
    return { head: { title: 'Audit log', path: AUDIT }, body: <AuditLogPage shown={shown} /> };
  });
}

/** An empty field of the form is no filter. */
function given(typed: string | undefined): string | undefined {
  const text = typed?.trim();
  return text === '' ? undefined : text;
}
