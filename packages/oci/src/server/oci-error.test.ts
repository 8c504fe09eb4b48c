import { expect, it } from 'vitest';
import { errorBody, OCI_STATUS, OciError } from './oci-error.js';

it.each(Object.entries(OCI_STATUS))('%s is answered with %d', (code, status) => {
  const refusal = new OciError(code as keyof typeof OCI_STATUS, 'why');
  expect(refusal).toMatchObject({ name: 'OciRefusal', code, status, message: 'why', headers: {} });
  expect([refusal.hint, refusal.detail, refusal.cause]).toEqual([undefined, undefined, undefined]);
  expect(status).toBeGreaterThanOrEqual(400);
});

it('may be answered otherwise, with headers and more', () => {
  const cause = new Error('x');
  const more = { hint: 'do', detail: [1], status: 410, headers: { A: 'b' }, cause };
  expect(new OciError('DENIED', 'why', more)).toMatchObject({ code: 'DENIED', ...more });
});

it('says in its body what distribution-spec has, and the detail where there is one', () => {
  expect(errorBody('DENIED', 'a "b"', undefined)).toBe(
    '{"errors":[{"code":"DENIED","message":"a \\"b\\""}]}',
  );
  expect(JSON.parse(errorBody('DENIED', '', { a: null }))).toEqual({
    errors: [{ code: 'DENIED', message: '', detail: { a: null } }],
  });
});
