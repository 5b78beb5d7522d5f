// Exhibit tool: `present_exhibit`, with which the model shows diagrams, tables, choices and sources as cards.
// A malformed call shows nothing: the model is told what is wrong, and may try again.

import { Type } from '../../std/schema.ts';
import { ELEMENT_TYPES, type Given, readElement } from './exhibit-elements.ts';
import type { Exhibit, ExhibitElement } from './protocol.ts';
import { defineTool, errorAnswer, type Tool } from './tool.ts';

const ELEMENTS_MAX = 20;
/** A card is read by people; anything beyond is a document. */
const EXHIBIT_CHARS_MAX = 200_000;
const ID_DIGITS = 12;

export const exhibitTools: readonly Tool[] = [
  defineTool({
    name: 'present_exhibit',
    description:
      'Shows the user a card made of elements. ' +
      'mermaid {content}; choice {prompt?, options[1-10]}: the pick comes back as the next message; ' +
      'table {columns[<=12], rows[[cell]], caption?}; ' +
      'citation {sources[{label, url?, quote?, kind: "active"|"passive", source_type?: "web"|"memory"|"doc"}]}; ' +
      'image {url, alt?}, audio and video {url, caption?} of a project document; text {content} in markdown. ' +
      'Every element may have a title. Calling again with the same id replaces the card.',
    parameters: Type.Object({
      elements: Type.Array(
        Type.Object({ type: Type.Enum([...ELEMENT_TYPES]) }, { additionalProperties: true }),
        {
          minItems: 1,
          maxItems: ELEMENTS_MAX,
        },
      ),
      id: Type.Optional(Type.String({ maxLength: 128 })),
      title: Type.Optional(Type.String({ maxLength: 300 })),
      layout: Type.Enum(['stack', 'grid'], { default: 'stack' }),
    }),
    run({ elements, id, title, layout }, { random }) {
      const read: ExhibitElement[] = [];
      const problems: string[] = [];
      elements.forEach((given, at) => {
        const result = readElement(given as Given);
        if (result.ok) read.push(result.element);
        else problems.push(`elements[${at}]: ${result.problem}`);
      });
      if (problems.length > 0) return errorAnswer(`The exhibit was not shown. ${problems.join('; ')}`);

      const exhibit: Exhibit = {
        schema_version: 1,
        id: id?.trim() || `exh_${random.hex(ID_DIGITS)}`,
        title: title?.trim() || null,
        layout: layout === 'grid' ? 'grid' : 'stack',
        elements: read,
      };
      if (JSON.stringify(exhibit).length > EXHIBIT_CHARS_MAX) {
        return errorAnswer(`The exhibit was not shown. It has more than ${EXHIBIT_CHARS_MAX} characters`);
      }
      return { content: JSON.stringify({ status: 'shown', exhibit_id: exhibit.id }), exhibits: [exhibit] };
    },
  }),
];
