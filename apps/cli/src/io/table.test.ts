import { textWidth } from '@krmhub/schema/text';
import { describe, expect, it } from 'vitest';
import { pipeTable, terminalTable } from './table.js';

const columns = [
  { header: 'FUNCTION', min: 12 },
  { header: 'RELEASE' },
  { header: 'DESCRIPTION', min: 16 },
  { header: 'TAGS', min: 8 },
];
const rows = [
  ['SetLabels', '1.2.0', 'Set labels on every resource.', 'mutator'],
  [
    'EnsureNameSubstring',
    '0.10.0-rc.1',
    'Ensure that the names of all resources hold a substring,\nas prefix or as suffix.',
    'mutator,names',
  ],
];

describe('a table on a terminal', () => {
  it('has exactly this text at 80 columns', () => {
    expect(terminalTable(columns, rows, 80)).toEqual([
      'FUNCTION             RELEASE      DESCRIPTION                      TAGS',
      'SetLabels            1.2.0        Set labels on every resource.    mutator',
      'EnsureNameSubstring  0.10.0-rc.1  Ensure that the names of all r…  mutator,names',
    ]);
  });

  it('fits every possible width, and never truncates a release', () => {
    for (let width = 53; width <= 200; width++) {
      const lines = terminalTable(columns, rows, width);
      for (const line of lines) expect(textWidth(line), `${width}: ${line}`).toBeLessThanOrEqual(width);
      expect(lines[2]).toContain('0.10.0-rc.1');
    }
  });

  it('fits a terminal that is too narrow for the columns that should keep their width', () => {
    const fixed = ['FUNCTION', 'RELEASE', 'VERDICT', 'REASON'].map((header) => ({ header }));
    const long = [['functions.example.com/SetLabels', '1.0.0', 'not trusted', 'because '.repeat(20)]];
    for (const width of [40, 60, 80, 120, 211]) {
      for (const line of terminalTable(fixed, long, width))
        expect(textWidth(line)).toBeLessThanOrEqual(width);
    }
    expect(terminalTable(fixed, long, 80)[1]).toMatch(
      /^functions\.example\.com\/\w+… +1\.0\.0 +not trusted +because/,
    );
  });

  it('is not wider than its text', () => {
    expect(terminalTable([{ header: 'A', min: 1 }], [['x']], 80)).toEqual(['A', 'x']);
  });

  it('keeps its columns with wide characters and hostile text', () => {
    const lines = terminalTable(
      [{ header: 'NAME', min: 4 }, { header: 'KIND' }],
      [
        ['関数', 'A'],
        ['x\u001b[2J\ny', 'B'],
      ],
      80,
    );
    expect(lines).toEqual(['NAME    KIND', '関数    A', 'x[2J y  B']);
  });
});

describe('a table in a pipe', () => {
  it('has no header, no truncation, and one tab between cells', () => {
    expect(pipeTable([['a\tb', 'x'.repeat(200), 'c\nd']])).toEqual([`a b\t${'x'.repeat(200)}\tc d`]);
  });
});
