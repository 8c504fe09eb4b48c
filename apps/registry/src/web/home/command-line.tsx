import type { SearchItem } from '@krmhub/api/model';
import { INSTALL } from '../addresses.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';

/** The same tasks on the command line, with an existing function as the example. */
export function CommandLine({ sample }: { sample?: SearchItem | undefined }) {
  const { at, publicUrl } = useSite();
  // OCI references cannot have a path before /v2/.
  const isOci = publicUrl === undefined || new URL(publicUrl).pathname === '/';
  return (
    <section aria-labelledby="command-line">
      <h2 id="command-line">From the command line</h2>
      <CopySnippet
        label="Search and show with krmhub"
        caption={
          <>
            <a href={at(INSTALL)}>Install krmhub</a>, then search and show functions:
          </>
        }
        code={
          <>
            export KRMHUB_REGISTRY=
            <RegistryAddress />
            {sample === undefined
              ? '\nkrmhub search'
              : `\nkrmhub search ${sample.kind}\nkrmhub show ${sample.group}/${sample.kind}`}
          </>
        }
      />
      <CopySnippet
        label="Fetch the catalog"
        caption="The catalog of all functions, as an orchestrator reads it:"
        code={
          <>
            curl -O <RegistryAddress />
            /catalogs/default/catalog.yaml
          </>
        }
      />
      {sample?.release === undefined || !isOci ? null : (
        <CopySnippet
          label="Pull a release with oras"
          caption="Releases and catalogs are OCI artifacts too:"
          code={
            <>
              oras pull <RegistryAddress isHost />
              {`/functions/${sample.group}/${sample.kind.toLowerCase()}:${sample.release}`}
            </>
          }
        />
      )}
    </section>
  );
}
