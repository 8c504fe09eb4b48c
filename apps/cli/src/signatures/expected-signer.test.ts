import { describe, expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import { expectedSigner } from './expected-signer.js';

describe('the signer that options expect', () => {
  it('has a warning with an example if the pattern is too broad', async () => {
    const io = testIo();
    await expectedSigner(io, {
      issuer: 'http://i.example.com',
      identityPattern: '^https://github\\.com/example.*$',
    });
    expect(io.err()).toContain('the issuer http://i.example.com is not https');
    expect(io.err()).toContain(
      'also trusts repositories of other owners, for example https://github.com/example',
    );
  });

  it('has no warning if the pattern is specific', async () => {
    const io = testIo();
    await expectedSigner(io, {
      issuer: 'https://token.actions.githubusercontent.com',
      identityPattern:
        '^https://github\\.com/example/functions/\\.github/workflows/release\\.yaml@refs/tags/v[0-9.]+$',
    });
    expect(io.err()).toBe('');
  });
});
