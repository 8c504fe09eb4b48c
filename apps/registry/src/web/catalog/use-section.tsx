import { fillPath } from '@krmhub/api/paths';
import type { SnapshotRecord } from '@krmhub/catalog';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';

/** Commands that use the catalog. */
export function UseSection({ snapshot: { catalog, serial } }: { snapshot: SnapshotRecord }) {
  const { publicUrl } = useSite();
  // OCI references cannot have a path before /v2/.
  const isOci = publicUrl === undefined || new URL(publicUrl).pathname === '/';
  return (
    <section aria-labelledby="use">
      <h2 id="use">Use it</h2>
      <p>Configure this URL in an orchestrator. The ETag is the digest of the content.</p>
      <CopySnippet
        label="URL of the catalog"
        code={
          <>
            <RegistryAddress />
            {fillPath('catalogYaml', { name: catalog })}
          </>
        }
      />
      <p>As a file, checked against its digest, or pinned to this snapshot:</p>
      <CopySnippet
        label="Pull the catalog"
        code={
          <>
            export KRMHUB_REGISTRY=
            <RegistryAddress />
            {`\nkrmhub catalog pull ${catalog} --out catalog.yaml`}
            {`\nkrmhub catalog pull ${catalog} --snapshot ${serial} --out catalog-${serial}.yaml`}
          </>
        }
      />
      {isOci ? (
        <>
          <p>As an OCI artifact:</p>
          <CopySnippet
            label="Pull the catalog with oras"
            code={
              <>
                oras pull <RegistryAddress isHost />
                {`/catalogs/${catalog}:${serial}`}
              </>
            }
          />
        </>
      ) : null}
    </section>
  );
}
