import { describe, expect, it } from 'vitest';
import type { Diagnostic, Severity } from '../diagnostics/diagnostic.js';
import { Findings, limitDiagnostics } from './findings.js';

const at = (line: number, severity: Severity): Diagnostic => ({
  code: `x/${severity}`,
  severity,
  message: 'x',
  file: 'f',
  path: '',
  range: { start: { line, column: 1 }, end: { line, column: 2 } },
});

describe('limitDiagnostics', () => {
  it('sorts by position, and keeps all findings below the limit', () => {
    const diagnostics = [at(3, 'error'), at(1, 'info'), at(2, 'warning')];
    expect(limitDiagnostics(diagnostics, 3, 'f').map(({ range }) => range?.start.line)).toEqual([1, 2, 3]);
  });

  it('lists the most severe findings, and counts the rest in the last line', () => {
    const diagnostics = [
      at(1, 'info'),
      at(2, 'warning'),
      at(3, 'error'),
      at(4, 'warning'),
      at(5, 'error'),
      at(6, 'info'),
    ];
    const told = limitDiagnostics(diagnostics, 3, 'f');
    expect(told.map(({ code, range }) => [code, range?.start.line])).toEqual([
      ['x/warning', 2],
      ['x/error', 3],
      ['x/error', 5],
      ['lint/more', undefined],
    ]);
    expect(told.at(-1)).toMatchObject({ severity: 'warning', message: 'and 1 warning, 2 notes more' });
  });

  it('has the severity of the worst omitted finding', () => {
    const told = limitDiagnostics([at(1, 'error'), at(2, 'error'), at(3, 'error')], 1, 'f');
    expect(told.at(-1)).toMatchObject({ severity: 'error', message: 'and 2 errors more' });
  });
});

describe('Findings', () => {
  it('stores a limited number of findings, and counts all', () => {
    const findings = new Findings();
    for (let line = 1; line <= 20_000; line++) findings.add([at(line, 'warning')]);
    expect(findings.isFull).toBe(false);
    findings.add([at(1, 'error')]);
    const told = findings.limited(3, 'f');
    expect(told.slice(0, 3).map(({ code }) => code)).toEqual(['x/error', 'x/warning', 'x/warning']);
    expect(told[3]).toMatchObject({ code: 'lint/more', message: 'and 19998 warnings more' });
  });

  it('reports what was not checked', () => {
    const findings = new Findings();
    findings.add(Array.from({ length: 5_000 }, (_, index) => at(index + 1, 'error')));
    expect(findings.isFull).toBe(true);
    findings.incomplete = true;
    expect(findings.limited(1, 'f').at(-1)?.message).toBe('and 4999 errors more; the rest was not checked');
  });
});
