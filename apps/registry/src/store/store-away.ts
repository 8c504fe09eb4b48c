import { KrmhubError } from '@krmhub/schema';

/** A server of the database or of the blobs that cannot be used now. The same request may succeed later. */
export class StoreAway extends KrmhubError {
  /** The name of the readiness check, and what is away, without addresses: anyone may read `/readyz`. */
  readonly check: 'store' | 'blobs';

  constructor(check: StoreAway['check'], message: string, options: { hint: string; cause: unknown }) {
    super('unavailable', message, options);
    this.check = check;
  }
}
