import type { AuditRow } from '@krmhub/api/model';
import { AUDIT_ACTIONS } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { suggest } from '@krmhub/schema/suggest';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../io/print.js';
import { connectExport } from './connection.js';

export interface AuditOptions {
  registry?: string;
  output: OutputFormat;
  /** RFC 3339. */
  since?: string;
  until?: string;
  actor?: string;
  action?: string;
  object?: string;
  outcome?: 'done' | 'refused';
  /** 0 for no limit. */
  limit: number;
}

/** Prints the rows of the audit log that match, newest first. */
export async function printAudit(io: Io, options: AuditOptions): Promise<void> {
  const { registry, output, limit, since, until, actor, action, object, outcome } = options;
  const client = await connectExport(io, registry);
  const rows: AuditRow[] = [];
  let hasMore = false;
  // It ends the response when it has enough.
  for await (const row of client.auditRows(defined({ since, until, actor, action, object, outcome }))) {
    hasMore = limit > 0 && rows.length === limit;
    if (hasMore) break;
    rows.push(row);
  }
  await printData(io, output, { rows }, () => printRows(io, rows));
  if (hasMore) await printLine(io, `only the newest ${limit} rows; for more, use --limit`);
  if (rows.length === 0) await printLine(io, escapeControls(`no rows match${whyNone(options)}`));
}

/** Actions and objects begin with the kind of what was changed, which a filter may lack. */
function whyNone({ action, object }: AuditOptions): string {
  if (action !== undefined && !AUDIT_ACTIONS.some((one) => `${one}.`.startsWith(`${action}.`))) {
    const meant = AUDIT_ACTIONS.find((one) => one.endsWith(`.${action}`)) ?? suggest(action, AUDIT_ACTIONS);
    return meant === undefined
      ? `: "${action}" is not an action; \`krmhub docs audit\` lists what is recorded`
      : `: "${action}" is not an action; did you mean ${meant}?`;
  }
  return object === undefined || object.includes('/')
    ? ''
    : `: objects begin with what they are, for example release/${object}/`;
}

async function printRows(io: Io, rows: readonly AuditRow[]): Promise<void> {
  const columns = [
    { header: 'TIME' },
    { header: 'ACTOR', min: 8 },
    { header: 'ACTION', min: 12 },
    { header: 'OBJECT', min: 20 },
    { header: 'OUTCOME' },
    { header: 'ADDRESS', min: 10 },
  ];
  await printTable(io, columns, rows, {
    terminal: ({ at, actor, action, object, outcome, address = '' }) => [
      at.slice(0, 19).replace('T', ' '),
      actor,
      action,
      object,
      outcome,
      address,
    ],
    pipe: ({ at, actor, action, object, outcome, address = '', credential = '', requestId = '', detail }) => [
      ...[at, actor, action, object, outcome, address, credential, requestId],
      detail === undefined ? '' : JSON.stringify(detail),
    ],
  });
}
