import { sha256 } from '@krmhub/schema';
import { expect, it } from 'vitest';
import type { SourceCopy, SourceRecord } from '../ports/source-records.js';
import { reportSource, visibleReportedSource, visibleSource } from './report-sources.js';

const named = (group: string) => ({ position: 0, group, kind: 'One', problem: 'no', fields: [] });

function sourceWith(copy: Partial<SourceCopy>): SourceRecord {
  return {
    catalog: 'ours',
    source: 'theirs',
    url: 'https://theirs.example',
    copy: {
      digest: sha256(Buffer.from('')),
      size: 0,
      fetchedAt: '2026-01-01T00:00:00.000Z',
      validators: {},
      entries: 3,
      invalid: [],
      invalidEntries: 0,
      signatures: [],
      ...copy,
    },
  } as unknown as SourceRecord;
}

const seesPublic = ({ group }: { group: string }) => group.startsWith('public.');

it('a report names and counts only groups that its reader may know', () => {
  const warning = (group: string, like?: string) => ({
    code: 'look-alike-group' as const,
    group,
    message: `${group} looks like ${like}`,
    ...(like !== undefined && { like }),
  });
  const groups = ['public.example.com', 'hidden.example.com'];
  const record = sourceWith({
    invalid: groups.map(named) as never,
    invalidEntries: 7,
    completed: groups.map(named) as never,
    completedEntries: 5,
    warnings: groups.flatMap((group) => [
      ...groups.map((like) => warning(group, like)),
      // Of an earlier version.
      warning(group),
    ]),
  });
  const report = reportSource(visibleSource(record, seesPublic));
  expect(report).toMatchObject({ invalidEntries: 6, completedEntries: 4 });
  expect(report.warnings).toEqual([warning('public.example.com', 'public.example.com')]);
  expect(JSON.stringify(report)).not.toContain('hidden');
  // A stored report is shown by the same rule.
  const whole = reportSource(record);
  expect(whole.warnings).toHaveLength(6);
  expect(visibleReportedSource(whole, seesPublic)).toEqual(report);
  expect(reportSource(record).completedEntries).toBe(5);
});
