import { KrmhubError } from '@krmhub/schema';
import { StoreAway } from '../../store-away.js';
import { describeS3Place, type S3Place } from './place.js';
import { elementText } from './xml.js';

/** A failed request to an S3-compatible store. */
export class S3Error extends Error {
  override readonly name = 'S3Error';
  /** HTTP status; undefined if no response arrived. */
  readonly status: number | undefined;
  /** Error code of the S3 API, for example `AccessDenied`. */
  readonly code: string | undefined;
  /** Region that the store names in place of the requested one. */
  readonly region: string | undefined;
  /** Whether the request was repeated as often as it can be. */
  isFinal = false;

  constructor(
    message: string,
    options: {
      status?: number;
      code?: string | undefined;
      region?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.code = options.code;
    this.region = options.region;
  }

  /** Whether another attempt can succeed. */
  get isTemporary(): boolean {
    return !this.isFinal && this.mayPass;
  }

  /** Whether the same request can succeed later. */
  get mayPass(): boolean {
    const { status, code } = this;
    // The store does not have what the request needs.
    if (status === 501) return false;
    if (status === undefined || status === 429 || status === 408 || status >= 500) return true;
    // Another writer of the same object.
    return status === 409 && code === 'ConditionalRequestConflict';
  }

  static of(error: unknown): S3Error {
    if (error instanceof S3Error) return error;
    const { message, cause } = error as Error;
    const reason =
      cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : message;
    return new S3Error(plain(reason), { cause: error });
  }

  static ofResponse(response: Response, text: string): S3Error {
    const code = elementText(text, 'Code');
    const message = elementText(text, 'Message');
    const region = response.headers.get('x-amz-bucket-region') ?? undefined;
    const said = [code, message].filter((one) => one !== undefined && one !== '').join(': ');
    return new S3Error(plain(said === '' ? `HTTP status ${response.status}` : said), {
      status: response.status,
      code: code === undefined ? undefined : plain(code),
      region: region === undefined ? undefined : plain(region),
    });
  }
}

/** Returns text of the server for a message: without control characters, and short. */
function plain(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?').slice(0, 300);
}

/** Translates an S3Error to a KrmhubError that says what to do; returns other errors unchanged. */
export function translateS3Error(place: S3Place, error: unknown): unknown {
  if (!(error instanceof S3Error)) return error;
  // Of the source of the credentials.
  if (error.cause instanceof KrmhubError) return error.cause;
  const message = `cannot use the blobs in ${describeS3Place(place)}: ${error.message}`;
  const options = { hint: hintFor(place, error), cause: error };
  return error.mayPass
    ? new StoreAway('blobs', message, options)
    : new KrmhubError('unavailable', message, options);
}

function hintFor(place: S3Place, { status, code, region }: S3Error): string {
  const { bucket } = place;
  const host = new URL(place.bucketUrl).origin;
  if (region !== undefined && region !== place.region && (status === 301 || status === 400)) {
    return `The bucket is in another region: add region=${region} to the blob URL.`;
  }
  if (code === 'NoSuchBucket') return `Create the bucket ${bucket} on ${host}, or correct the blob URL.`;
  if (code === 'InvalidAccessKeyId' || code === 'SignatureDoesNotMatch') {
    return 'Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and the region in the blob URL.';
  }
  if (code === 'ExpiredToken') return 'Set a new AWS_SESSION_TOKEN with its keys, and restart the registry.';
  if (code === 'RequestTimeTooSkewed') return 'Correct the clock of this machine.';
  if (status === 401 || status === 403) {
    return `Allow this access key to list, read, write, and delete objects of the bucket ${bucket}.`;
  }
  if (status !== undefined && status >= 300 && status < 400) {
    return 'Use the endpoint and the region of the bucket in the blob URL.';
  }
  return `Check that the store at ${host} is running and reachable, and try again.`;
}
