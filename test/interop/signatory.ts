import { expect } from 'vitest';
import { Cosigner } from './cosign.js';

/** Who uses cosign and krmhub side by side. */
export class Signatory extends Cosigner {
  constructor(folder: string) {
    super(folder);
    // The library that signs knows no exception for this machine, which Go and the rest of krmhub make.
    this.env.NO_PROXY = '127.0.0.1';
  }

  /** What a command of ours prints that succeeds. */
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
