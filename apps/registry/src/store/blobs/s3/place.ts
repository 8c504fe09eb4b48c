import { KrmhubError } from '@krmhub/schema';

/** Where in which S3-compatible store the blobs are. */
export interface S3Place {
  bucket: string;
  /** Start of every object name, without slashes at its ends; empty for the whole bucket. */
  prefix: string;
  /** URL of the bucket, without a slash at the end. */
  bucketUrl: string;
  region: string;
}

/** Keys, or the variables that say where they are. */
export type S3Access = S3Credentials | { env: Readonly<Record<string, string>> };

/** Keys that sign requests. */
export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[A-Za-z0-9!_.'()*-]+(?:\/[A-Za-z0-9!_.'()*-]+)*$/;
const REGION = /^[a-z0-9-]{1,64}$/;
const PARAMETERS = ['endpoint', 'region'];

/**
 * Parses `s3://BUCKET/PREFIX?endpoint=URL&region=REGION`. Without an endpoint, the store is Amazon S3. Throws a `usage`
 * KrmhubError whose message completes "the URL …".
 * @param defaultRegion AWS_REGION or AWS_DEFAULT_REGION.
 */
export function parseS3Url(text: string, defaultRegion = 'us-east-1'): S3Place {
  const wrong = (why: string) => new KrmhubError('usage', why);
  const parts = /^s3:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(text);
  if (parts === null) throw wrong('is not s3://BUCKET/PREFIX?endpoint=URL&region=REGION');
  const [, bucket = '', path = '', query = ''] = parts;
  if (!BUCKET.test(bucket) || bucket.includes('..')) throw wrong('has no valid bucket name after s3://');
  const prefix = path.replace(/\/$/, '');
  const isDots = prefix.split('/').some((part) => part === '.' || part === '..');
  if (prefix !== '' && (!PREFIX.test(prefix) || prefix.length > 512 || isDots)) {
    throw wrong('has an invalid prefix: use letters, digits, "-", "_", ".", and "/"');
  }
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) throw wrong(`has the unknown parameter ${unknown}: use endpoint and region`);
  const region = parameters.get('region') ?? defaultRegion;
  if (!REGION.test(region)) throw wrong('has an invalid region');
  return { bucket, prefix, region, bucketUrl: bucketUrl(bucket, region, parameters.get('endpoint'), wrong) };
}

function bucketUrl(
  bucket: string,
  region: string,
  endpoint: string | null,
  wrong: (why: string) => Error,
): string {
  if (endpoint === null) {
    const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
    // A certificate of *.s3.REGION.amazonaws.com does not cover bucket names with dots.
    return bucket.includes('.')
      ? `https://s3.${region}.${domain}/${bucket}`
      : `https://${bucket}.s3.${region}.${domain}`;
  }
  let url: URL;
  try {
    url = new URL(endpoint);
  } catch {
    throw wrong('has an invalid endpoint: use an http or https URL');
  }
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!/^https?:$/.test(url.protocol) || !isPlain) {
    throw wrong('has an invalid endpoint: use an http or https URL without credentials and parameters');
  }
  return `${url.href.replace(/\/$/, '')}/${bucket}`;
}

/** Returns the place as people write it, for messages. */
export function describeS3Place({ bucket, prefix }: S3Place): string {
  return prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`;
}
