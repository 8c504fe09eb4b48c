import type { AuditRow } from '@krmhub/api/model';
import { defined } from '@krmhub/schema/defined';
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
