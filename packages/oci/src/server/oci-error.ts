import { defined } from '@krmhub/schema/defined';

/** HTTP status of the error codes of distribution-spec ("Error Codes") and of Docker's registry. */
export const OCI_STATUS = {
  BLOB_UNKNOWN: 404,
  BLOB_UPLOAD_INVALID: 400,
  BLOB_UPLOAD_UNKNOWN: 404,
  DENIED: 403,
  DIGEST_INVALID: 400,
  MANIFEST_BLOB_UNKNOWN: 404,
  MANIFEST_INVALID: 400,
  MANIFEST_UNKNOWN: 404,
  NAME_INVALID: 400,
  NAME_UNKNOWN: 404,
  PAGINATION_NUMBER_INVALID: 400,
  RANGE_INVALID: 416,
  SIZE_INVALID: 413,
  TOOMANYREQUESTS: 429,
  UNAUTHORIZED: 401,
  UNAVAILABLE: 503,
  UNKNOWN: 500,
  UNSUPPORTED: 405,
} as const;

export type OciErrorCode = keyof typeof OCI_STATUS;

/** An error response of distribution-spec. */
export class OciError extends Error {
  override readonly name = 'OciError';
  readonly code: OciErrorCode;
  readonly status: number;
  /** What to do. */
  readonly hint: string | undefined;
  /** Any JSON value. */
  readonly detail: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: OciErrorCode,
    message: string,
    options: {
      hint?: string;
      detail?: unknown;
      status?: number;
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? OCI_STATUS[code];
    this.hint = options.hint;
    this.detail = options.detail;
    this.headers = options.headers ?? {};
  }
}

/** Returns the body of an error response. Most clients print only the message. */
export function errorBody(code: OciErrorCode, message: string, detail: unknown): string {
  return JSON.stringify({ errors: [{ code, message, ...defined({ detail }) }] });
}
