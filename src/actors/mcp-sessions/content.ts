// Content: what a tool, a resource or a prompt gives, read block by block and bounded as a whole.
// B1 A text that is too long is cut; a picture or a sound that is too much is left out, for half of one is none.
// B2 Media are base64 of a declared type; what does not look like it is left out.

import type { McpContent, McpToolResult } from './protocol.ts';
import { isMembers, jsonChars, listOf, type Members, textOf } from './untrusted.ts';

const BLOCKS_MAX = 200;
const TEXT_CHARS_MAX = 1_000_000;
const MEDIA_CHARS_MAX = 14 * 1024 * 1024;
const STRUCTURED_CHARS_MAX = 1_000_000;
const URI_CHARS_MAX = 2_000;
const NAME_CHARS_MAX = 500;
const DESCRIPTION_CHARS_MAX = 10_000;
const MEDIA_TYPE = /^[\w.+-]{1,80}\/[\w.+-]{1,80}(?:;.{0,100})?$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

export function toolResultOf(result: Members): McpToolResult {
  const room = new Room();
  const content = room.contents(listOf(result, 'content'));
  const structured = result['structuredContent'];
  const hasStructured = structured !== undefined && jsonChars(structured) <= STRUCTURED_CHARS_MAX;
  return {
    content,
    ...(hasStructured ? { structured_content: structured } : {}),
    is_error: result['isError'] === true,
    is_cut: room.isCut || (structured !== undefined && !hasStructured),
  };
}

export function resourceContentsOf(result: Members): { readonly contents: readonly McpContent[] } {
  const room = new Room();
  const values = listOf(result, 'contents').map((resource) => ({ type: 'resource', resource }));
  return { contents: room.contents(values) };
}

interface PromptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: McpContent;
}

export function promptOf(result: Members): {
  readonly description: string | null;
  readonly messages: readonly PromptMessage[];
} {
  const room = new Room();
  const messages = listOf(result, 'messages').flatMap((message): PromptMessage[] => {
    if (!isMembers(message)) return [];
    const role = message['role'] === 'assistant' ? 'assistant' : 'user';
    return room.contents([message['content']]).map((content) => ({ role, content }));
  });
  return { description: textOf(result, 'description', DESCRIPTION_CHARS_MAX), messages };
}

/** What is left of the bounds while one result is read. */
class Room {
  isCut = false;
  #blocks = BLOCKS_MAX;
  #textChars = TEXT_CHARS_MAX;
  #mediaChars = MEDIA_CHARS_MAX;

  contents(values: readonly unknown[]): readonly McpContent[] {
    const contents: McpContent[] = [];
    for (const value of values) {
      const content = isMembers(value) ? this.#contentOf(value) : null;
      if (content === null || this.#blocks === 0) {
        this.isCut = true;
        continue;
      }
      this.#blocks -= 1;
      contents.push(content);
    }
    return contents;
  }

  #contentOf(value: Members): McpContent | null {
    switch (value['type']) {
      case 'text': {
        const text = this.#text(value['text']);
        return text === null ? null : { type: 'text', text };
      }
      case 'image':
      case 'audio': {
        const data = this.#media(value['data']);
        const mime_type = mediaTypeOf(value);
        return data === null || mime_type === null ? null : { type: value['type'], data, mime_type };
      }
      case 'resource':
        return isMembers(value['resource']) ? this.#resourceOf(value['resource']) : null;
      case 'resource_link': {
        const uri = textOf(value, 'uri', URI_CHARS_MAX);
        if (uri === null) return null;
        const name = textOf(value, 'name', NAME_CHARS_MAX) ?? uri;
        const description = this.#text(textOf(value, 'description', DESCRIPTION_CHARS_MAX) ?? '') ?? '';
        return { type: 'resource_link', uri, name, description, mime_type: mediaTypeOf(value) };
      }
      default:
        return null;
    }
  }

  #resourceOf(resource: Members): McpContent | null {
    const uri = textOf(resource, 'uri', URI_CHARS_MAX) ?? '';
    const mime_type = mediaTypeOf(resource);
    if (typeof resource['text'] === 'string') {
      return { type: 'resource', uri, mime_type, text: this.#text(resource['text']) ?? '' };
    }
    const data = this.#media(resource['blob']);
    return data === null ? null : { type: 'blob', uri, mime_type, data };
  }

  /** B1. */
  #text(value: unknown): string | null {
    if (typeof value !== 'string') return null;
    const text = value.slice(0, this.#textChars);
    if (text.length < value.length) this.isCut = true;
    this.#textChars -= text.length;
    return text;
  }

  /** B1, B2. */
  #media(value: unknown): string | null {
    if (typeof value !== 'string' || value.length > this.#mediaChars || !BASE64.test(value)) return null;
    this.#mediaChars -= value.length;
    return value;
  }
}

function mediaTypeOf(value: Members): string | null {
  const type = value['mimeType'];
  return typeof type === 'string' && MEDIA_TYPE.test(type) ? type : null;
}
