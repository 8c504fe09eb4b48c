import { Text } from './text.js';

const DIGEST = /sha256:([a-f0-9]{12})[a-f0-9]{52}/;

/** A signer as the registry describes it: an identity in full, the fingerprint of a key shortened. */
export function ShortSigner({ value, max = 200 }: { value: string; max?: number }) {
  const short = value.replace(DIGEST, 'sha256:$1…');
  if (short === value) return <Text value={value} max={max} />;
  return (
    <span title={value}>
      <Text value={short} max={max} />
    </span>
  );
}
