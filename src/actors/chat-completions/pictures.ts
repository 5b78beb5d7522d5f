// Pictures: the images that the messages of a direct completion name, found in their workspaces. A client of this API is told what
// is wrong, instead of getting an answer to something else (C4).

import type { ActorContext } from '../../supervisor/actor.ts';
import { config } from '../config/protocol.ts';
import type { MediaSource } from '../providers/protocol.ts';
import { workspaces } from '../workspaces/protocol.ts';
import { chatCompletionFaults, type DirectOrder } from './protocol.ts';

type Request = DirectOrder['request'];

/** The request with what its images are. @throws completion_refused */
export async function withPictures(
  context: ActorContext,
  request: Request,
  user_id: string,
): Promise<Request> {
  const refs = request.messages.flatMap((message) => (message.role === 'user' ? (message.media ?? []) : []));
  if (refs.length === 0) return request;
  const settings = await context.ask(config, 'settings', {});
  if (!settings['vision.enabled']) throw refused('images are switched off here');
  if (refs.length > settings['vision.images_max']) {
    throw refused(`at most ${settings['vision.images_max']} images are sent at once`);
  }
  const { documents } = await context.ask(workspaces, 'findDocuments', { user_id, documents: refs });
  let bytes = 0;
  const sources = refs.map(({ document_id }, at): [string, MediaSource] => {
    const document = documents[at];
    if (!document?.content_type.startsWith('image/')) throw refused(`there is no image ${document_id}`);
    const { content_type: mediaType, sha256, size_bytes } = document;
    bytes += size_bytes;
    if (size_bytes > settings['vision.image_bytes_max']) {
      throw refused(`an image may have at most ${settings['vision.image_bytes_max']} bytes`);
    }
    return [document_id, { mediaType, sha256 }];
  });
  if (bytes > settings['vision.request_bytes_max']) {
    throw refused(`the images of a request may have ${settings['vision.request_bytes_max']} bytes together`);
  }
  return { ...request, media: Object.fromEntries(sources) };
}

function refused(message: string) {
  return chatCompletionFaults.completion_refused(message, { details: { param: 'messages' } });
}
