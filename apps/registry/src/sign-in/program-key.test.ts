import { hash } from 'node:crypto';
import { LoginTokenRequest } from '@krmhub/api/model';
import { expect, it } from 'vitest';
import { newProgramKey, openForProgram, sealForProgram } from './program-key.js';

it('can be read by the program alone', async () => {
  const [program, other] = [newProgramKey(), newProgramKey()];
  expect(LoginTokenRequest.safeParse({ secret: program.secret }).success).toBe(true);
  const sealed = await sealForProgram(program.publicKey, 'the key');
  expect(await openForProgram(program, sealed)).toBe('the key');
  expect(await sealForProgram(program.publicKey, 'the key')).not.toBe(sealed);
  const stored = hash('sha256', program.secret, 'base64url');
  for (const secret of [other.secret, stored]) {
    await expect(openForProgram({ ...program, secret }, sealed)).rejects.toThrow();
  }
  await expect(openForProgram(other, sealed)).rejects.toThrow();
  await expect(openForProgram(program, sealed.slice(0, -3))).rejects.toThrow();
});
