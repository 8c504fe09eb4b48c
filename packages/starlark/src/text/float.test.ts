import { expect, test } from 'vitest';
import { formatFloat, printFloat } from './float.js';

test.each([
  [0, '0.0'],
  [-0, '-0.0'],
  [1, '1.0'],
  [123456, '123456.0'],
  [1e6, '1e+06'],
  [123456789, '1.23456789e+08'],
  [1e21, '1e+21'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [5e-324, '5e-324'],
  [-1.5, '-1.5'],
  [Number.NaN, 'nan'],
  [Infinity, '+inf'],
  [-Infinity, '-inf'],
])('prints %f as starlark-go does', (value, text) => {
  expect(printFloat(value)).toBe(text);
});

test.each([
  [0.0078125, 'e', '7.812500e-03'],
  [0.0078125, 'f', '0.007812'],
  [0.0234375, 'f', '0.023438'],
  [1e22, 'f', '10000000000000000000000.000000'],
  [9.9999999, 'e', '1.000000e+01'],
  [5e-324, 'e', '4.940656e-324'],
  [1e23, 'E', '1.000000E+23'],
  [1e6, 'G', '1E+06'],
  [-0, 'e', '-0.000000e+00'],
] as const)('formats %f with %s', (value, conversion, text) => {
  expect(formatFloat(value, conversion)).toBe(text);
});
