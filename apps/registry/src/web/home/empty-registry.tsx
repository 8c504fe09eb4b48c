import type { ReadyRecipe } from '@krmhub/sources/ready-recipes';
import { INSTALL, READY_RECIPES, RECIPES } from '../addresses.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';

/** The first page of an empty registry. */
export function EmptyRegistry({ recipes }: { recipes: readonly ReadyRecipe[] }) {
  const { at } = useSite();
  return (
    <div class="home">
      <h1>A registry of KRM functions</h1>
      <p class="lead">
        A KRM function is a program that changes or checks Kubernetes manifests: kustomize, kpt, and krmhub
        give it the manifests, and write what it returns. This registry keeps each release of a function as it
        was published, and lists them in catalogs. It has no functions yet:{' '}
        <a href={at(INSTALL)}>install krmhub</a>, and see your first one change a manifest in four steps.
      </p>
      <ol class="steps">
        <li>
          <h2>Log in</h2>
          <CopySnippet
            label="Log in"
            caption={
              <>
                The command asks for a token. The first one is in the file <code>admin.token</code> in the
                data folder of the registry. The operator creates more tokens.
              </>
            }
            code={
              <>
                export KRMHUB_REGISTRY=
                <RegistryAddress />
                {'\n'}krmhub login
              </>
            }
          />
        </li>
        <li>
          <h2>Write a function</h2>
          <CopySnippet
            label="Write a function"
            caption={
              <>
                <code>init</code> creates a script and its definition, and marks the lines to edit with{' '}
                <code>CHANGE</code>. <code>lint</code> lists them; here, <code>sed</code> only removes the
                marks. <code>test</code> runs the example. It needs no container.
              </>
            }
            code={
              "krmhub init example.com/SetOwner --runtime starlark\nkrmhub lint set-owner || sed -i.bak 's/# CHANGE:/#/' set-owner/definition.yaml\nkrmhub test set-owner"
            }
          />
        </li>
        <li>
          <h2>Publish it</h2>
          <CopySnippet
            label="Publish it"
            caption={
              <>
                A release never changes. It is in the{' '}
                <a href={at('/catalogs/default/catalog.yaml')}>catalog of all functions</a> when the command
                finishes.
              </>
            }
            code="krmhub publish set-owner/definition.yaml --release 0.1.0 --readme set-owner/README.md"
          />
        </li>
        <li>
          <h2>Run it</h2>
          <CopySnippet
            label="Run it"
            caption={
              <>
                The function changes the manifests of a folder, and only the lines that it has to.{' '}
                <code class="unbroken">--dry-run</code> shows the difference. The page of the function has the
                commands for kustomize and kpt.
              </>
            }
            code={
              <>
                {'cp -r set-owner/examples/basic/input shop\nkrmhub fn eval shop -c '}
                <RegistryAddress />
                {
                  '/catalogs/default \\\n  --function example.com/v1alpha1/SetOwner --dry-run -- owner=shop-team'
                }
              </>
            }
          />
        </li>
      </ol>
      <h2>Or import a public catalog</h2>
      <p>
        Its functions keep their names, licenses, and digests, and are shown as imported. An administrator can{' '}
        <a href={at(`${RECIPES}#${READY_RECIPES}`)}>import it with one click</a>, or with one command:
      </p>
      <ul class="steps">
        {recipes.map(({ name, summary }) => (
          <li>
            <CopySnippet
              label={`Import ${name}`}
              caption={summary}
              code={`krmhub catalog apply --example ${name}`}
            />
          </li>
        ))}
      </ul>
      <p>
        You can also convert kpt functions and Krew plugins with <code>krmhub convert</code>.
      </p>
    </div>
  );
}
