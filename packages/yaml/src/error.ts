/** A text that cannot be read, or a value that cannot be made of it. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
  /** The fix, in one sentence. */
  readonly hint: string | undefined;

  constructor(message: string, { hint, cause }: { hint?: string | undefined; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.hint = hint;
  }
}
