import { API_PAGE, CLI, DOCS, docsPath, searchPath } from '../addresses.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';
import type { Downloads } from './downloads.js';
import { CHECKSUMS, CHECKSUMS_BUNDLE, type Executable } from './executables.js';
import { PLATFORMS } from './platforms.js';

/** How to install the command line and connect it to this registry; docs/install.md has more. */
export function InstallPage({ downloads }: { downloads: Downloads }) {
  const { at } = useSite();
  return (
    <div class="steps">
      <h1>Install the command line</h1>
      <p class="lead">
        <code>krmhub</code> finds, verifies, runs, and publishes functions. This registry offers version{' '}
        {downloads.version}, which it runs itself.
      </p>
      <h2>Without Node.js</h2>
      <ExecutablesSection downloads={downloads} />
      <h2>With npm</h2>
      <PackageSection downloads={downloads} />
      <ChecksumsText downloads={downloads} />
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
            For bash, add this line to <code>~/.bashrc</code>.{' '}
            <code class="unbroken">krmhub completion --help</code> has the lines for zsh and fish:
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

function ExecutablesSection({ downloads: { executables, problems } }: { downloads: Downloads }) {
  const { at } = useSite();
  const operators = <a href={at(docsPath('install', 'offer-executables'))}>how to offer them</a>;
  if (executables.length === 0) {
    return (
      <>
        <p>
          This registry has no executables. Install the package with npm, or ask its operator, who can read{' '}
          {operators}.
        </p>
        <NotOffered problems={problems} />
      </>
    );
  }
  return (
    <>
      <p>One file that needs nothing else, for:</p>
      {executables.map((executable) => (
        <CopySnippet
          label={`Install krmhub on ${PLATFORMS[executable.platform].title}`}
          caption={<ExecutableLink executable={executable} />}
          code={<ExecutableCommands executable={executable} />}
        />
      ))}
      <NotOffered problems={problems} />
    </>
  );
}

function NotOffered({ problems }: { problems: readonly string[] }) {
  return problems.length === 0 ? null : <p>Not offered: {problems.join(', ')}.</p>;
}

function ExecutableLink({ executable: { platform, name, size, compressed } }: { executable: Executable }) {
  const { at } = useSite();
  return (
    <>
      <a href={at(`${CLI}/${name}`)}>{PLATFORMS[platform].title}</a> ({megabytes(compressed?.size ?? size)})
    </>
  );
}

function ExecutableCommands({ executable: { platform, name, digest } }: { executable: Executable }) {
  const found = PLATFORMS[platform];
  const hex = digest.slice('sha256:'.length);
  const address = (
    <>
      <RegistryAddress />
      {`${CLI}/${name}`}
    </>
  );
  if (!('check' in found)) {
    return (
      <>
        curl.exe -fsSo krmhub.exe {address}
        {`\n(Get-FileHash krmhub.exe).Hash -eq "${hex}"`}
      </>
    );
  }
  return (
    <>
      curl -fsSo krmhub --compressed {address}
      {`\necho "${hex}  krmhub" | ${found.check}\nsudo install krmhub /usr/local/bin/krmhub\nkrmhub --version`}
    </>
  );
}

function PackageSection({ downloads: { program } }: { downloads: Downloads }) {
  const { at } = useSite();
  if (program === undefined) {
    return (
      <p>
        This registry runs from a checkout that is not built: its operator can run <code>npm run build</code>.
      </p>
    );
  }
  return (
    <>
      <CopySnippet
        label="Install krmhub with npm"
        caption="With Node.js 20.17 or later; npm compiles nothing:"
        code={
          <>
            npm install --global <RegistryAddress />
            {`${CLI}/${program.name}\nkrmhub --version`}
          </>
        }
      />
      <p>
        <a href={at(`${CLI}/${program.name}`)}>{program.name}</a> ({megabytes(program.size)}) has the SHA-256
        digest <code class="digest">{program.digest.slice('sha256:'.length)}</code>. krmhub is not in a public
        package registry: do not run <code>npx krmhub</code>.
      </p>
    </>
  );
}

function ChecksumsText({ downloads: { checksums } }: { downloads: Downloads }) {
  const { at } = useSite();
  if (checksums.text === '') return null;
  return (
    <p>
      <a href={at(`${CLI}/${CHECKSUMS}`)}>{CHECKSUMS}</a> has all digests
      {checksums.bundle === undefined ? (
        '. It is not signed: it proves only that a file is the one of this registry.'
      ) : (
        <>
          , and <a href={at(`${CLI}/${CHECKSUMS_BUNDLE}`)}>a signature</a>:{' '}
          <a href={at(docsPath('install', 'verify-what-you-downloaded'))}>verify it</a>.
        </>
      )}
    </p>
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}
