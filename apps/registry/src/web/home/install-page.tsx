import { API_PAGE, DOCS, searchPath } from '../addresses.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';

/** How to install the command line and connect it to this registry; docs/install.md has more. */
export function InstallPage() {
  const { at } = useSite();
  return (
    <div class="steps">
      <h1>Install the command line</h1>
      <p class="lead">
        <code>krmhub</code> finds, verifies, runs, and publishes functions. You need Node.js 20.17 or later,
        and a checkout of the krmhub repository.
      </p>
      <h2>Install</h2>
      <CopySnippet
        label="Install krmhub"
        caption="In the checkout, build the package and install it. npm compiles nothing:"
        code={'npm run package\nnpm install --global ./build/krmhub-*.tgz\nkrmhub --version'}
      />
      <p>
        krmhub is not in a public package registry: do not run <code>npx krmhub</code> outside the checkout.
      </p>
      <h2>Connect to this registry</h2>
      <CopySnippet
        label="Connect to this registry"
        caption="Reads need no account. To publish, ask the operator of this registry for a token:"
        code={
          <>
            export KRMHUB_REGISTRY=
            <RegistryAddress />
            {'\nkrmhub search\nkrmhub login'}
          </>
        }
      />
      <h2>Complete commands</h2>
      <CopySnippet
        label="Complete commands in bash"
        caption={
          <>
            For bash, add this line to <code>~/.bashrc</code>. <code>krmhub completion --help</code> has the
            lines for zsh and fish:
          </>
        }
        code="source <(krmhub completion bash)"
      />
      <p>
        Next, <a href={at(searchPath())}>find a function</a>: its page has the commands to use it. The{' '}
        <a href={at(DOCS)}>documentation</a> is here and in <code>krmhub docs</code>. Programs can use the{' '}
        <a href={at(API_PAGE)}>HTTP API</a> instead.
      </p>
    </div>
  );
}
