// Result page: what a browser shows when it comes back from a consent somewhere else. Two sentences of ours.
// H1 Nothing of the request is in it; it runs nothing, loads nothing, and is neither framed, kept nor passed on as a referrer:
//    its address holds a nonce and a code.

export interface Page {
  readonly status: number;
  readonly html: string;
}

export interface PageText {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

/** H1. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const;

export function resultPage({ status, title, text }: PageText): Page {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
  body { max-width: 28rem; margin: 20vh auto 0; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
  @media (prefers-color-scheme: dark) { body { color: #eee; background: #111; } }
</style>
<h1>${title}</h1>
<p>${text}</p>
</html>
`;
  return { status, html };
}
