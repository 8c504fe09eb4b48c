import { describe, expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import { expectedSigner } from './expected-signer.js';

describe('the signer that options expect', () => {
  it('is warned of where it is wider than it says, with an example', async () => {
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

  it('is not warned of where the pattern allows only what varies', async () => {
    const io = testIo();
    await expectedSigner(io, {
      issuer: 'https://token.actions.githubusercontent.com',
      identityPattern:
        '^https://github\\.com/example/functions/\\.github/workflows/release\\.yaml@refs/tags/v[0-9.]+$',
    });
    expect(io.err()).toBe('');
  });
});
