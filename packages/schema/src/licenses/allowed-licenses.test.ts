import { expect, it } from 'vitest';
import { allowsLicense } from './allowed-licenses.js';

it.each([
  ['MIT', true],
  ['GPL-3.0-only', false],
  ['MIT OR GPL-3.0-only', true],
  ['GPL-3.0-only OR (AGPL-3.0-only OR Apache-2.0)', true],
  ['MIT AND GPL-3.0-only', false],
  ['MIT AND (GPL-3.0-only OR Apache-2.0)', true],
  ['GPL-2.0-only WITH Classpath-exception-2.0', true],
  ['GPL-2.0-only WITH GCC-exception-2.0', false],
  ['GPL-2.0-only', false],
  ['LGPL-2.1+', true],
  ['LicenseRef-banana', true],
  ['LicenseRef-melon', false],
  ['no license', false],
  ['', false],
  [`${'('.repeat(5_000)}MIT${')'.repeat(5_000)}`, false],
])('%s is allowed: %s', (expression, allowed) => {
  const list = [
    'MIT',
    'Apache-2.0',
    'GPL-2.0-only WITH Classpath-exception-2.0',
    'LGPL-2.1+',
    'LicenseRef-banana',
  ];
  expect(allowsLicense(list, expression)).toBe(allowed);
});
