import type { Site } from '../site.js';

/** Returns an OpenSearch 1.1 description for browsers; its templates must be absolute URLs. */
export function openSearchDescription(site: Site): string {
  const address = (path: string) => escaped(site.whole(path));
  return `<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
  <ShortName>krmhub</ShortName>
  <Description>KRM functions of ${escaped(new URL(site.publicUrl ?? '').host)}</Description>
  <InputEncoding>UTF-8</InputEncoding>
  <Image width="32" height="32" type="image/svg+xml">${address(site.assets.path('icon.svg'))}</Image>
  <Url type="text/html" template="${address('/functions')}?q={searchTerms}"/>
  <Url type="application/x-suggestions+json" template="${address('/suggestions')}?q={searchTerms}"/>
</OpenSearchDescription>
`;
}

function escaped(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
