import { expect } from 'vitest';
import { Cosigner } from './cosign.js';

/** A user of cosign and krmhub. */
export class SigningUser extends Cosigner {
  constructor(folder: string) {
    super(folder);
    // The signing library has no proxy exception for this machine, unlike Go and the rest of krmhub.
    this.env.NO_PROXY = '127.0.0.1';
  }

  /** Returns the output of our command, which must succeed. */
  async succeeds(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.krmhub(...args);
    expect(code, `krmhub ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
    return stdout;
  }

  async isUntrusted(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.krmhub(...args);
    expect(code, `krmhub ${args.join(' ')}\n${stdout}${stderr}`).toBe(4);
    return stdout + stderr;
  }
}
