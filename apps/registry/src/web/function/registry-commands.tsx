import type { FunctionName } from '@krmhub/schema';
import type { Child } from 'hono/jsx';
import { functionRepository } from '../../store/artifacts/repositories.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';

/** How commands name this registry: its URL, and HOST/REPOSITORY:TAG of a release. */
export interface CommandAddresses {
  url: Child;
  /** Absent if the public URL has a path, which OCI references cannot contain. */
  reference?: Child;
}

export function useAddresses({ group, kind, release }: FunctionName & { release: string }): CommandAddresses {
  const { publicUrl } = useSite();
  const url = <RegistryAddress />;
  if (publicUrl !== undefined && new URL(publicUrl).pathname !== '/') return { url };
  return {
    url,
    reference: (
      <>
        <RegistryAddress isHost />/{functionRepository({ group, kind })}:{release}
      </>
    ),
  };
}

/** Commands, one per line. */
export function Commands({
  label,
  caption,
  lines,
}: {
  label: string;
  caption?: Child;
  lines: readonly Child[];
}) {
  return (
    <CopySnippet
      label={label}
      caption={caption}
      code={lines.map((line, index) => (
        <>
          {index === 0 ? null : '\n'}
          {line}
        </>
      ))}
    />
  );
}
