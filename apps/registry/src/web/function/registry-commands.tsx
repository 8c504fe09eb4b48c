import type { FunctionName } from '@krmhub/schema';
import { functionRepository } from '../../oci/repositories.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';

/** Stands for the host of this registry where it does not know it; the script of the page puts the host there. */
const UNKNOWN_HOST = 'REGISTRY';

/** HOST/REPOSITORY:TAG of a release; undefined where the registry stands below a path, which references cannot have. */
export function releaseReference(
  publicUrl: string | undefined,
  { group, kind, release }: FunctionName & { release: string },
): string | undefined {
  const repository = `${functionRepository({ group, kind })}:${release}`;
  if (publicUrl === undefined) return `${UNKNOWN_HOST}/${repository}`;
  const { host, pathname } = new URL(publicUrl);
  return pathname === '/' ? `${host}/${repository}` : undefined;
}

/** Commands for this registry; where it does not know its host, the script of the page puts that in. */
export function Commands({ label, lines }: { label: string; lines: readonly string[] }) {
  const { publicUrl } = useSite();
  const text = lines.join('\n');
  const parts = publicUrl === undefined ? text.split(UNKNOWN_HOST) : [text];
  return (
    <CopySnippet
      label={label}
      code={parts.map((part, index) => (
        <>
          {index === 0 ? null : <RegistryAddress isHost />}
          {part}
        </>
      ))}
    />
  );
}
