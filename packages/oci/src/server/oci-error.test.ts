import { expect, it } from 'vitest';
import { errorBody, OCI_STATUS, OciError } from './oci-error.js';

it.each(Object.entries(OCI_STATUS))('%s has the HTTP status %d', (code, status) => {
  const error = new OciError(code as keyof typeof OCI_STATUS, 'why');
  expect(error).toMatchObject({ name: 'OciError', code, status, message: 'why', headers: {} });
  expect([error.hint, error.detail, error.cause]).toEqual([undefined, undefined, undefined]);
  expect(status).toBeGreaterThanOrEqual(400);
});

it('accepts another status, headers, a hint, a detail and a cause', () => {
  const cause = new Error('x');
  const more = { hint: 'do', detail: [1], status: 410, headers: { A: 'b' }, cause };
  expect(new OciError('DENIED', 'why', more)).toMatchObject({ code: 'DENIED', ...more });
});

it('has the body of distribution-spec, with the detail if there is one', () => {
  expect(errorBody('DENIED', 'a "b"', undefined)).toBe(
    '{"errors":[{"code":"DENIED","message":"a \\"b\\""}]}',
  );
  expect(JSON.parse(errorBody('DENIED', '', { a: null }))).toEqual({
    errors: [{ code: 'DENIED', message: '', detail: { a: null } }],
  });
});
