/**
 * The lint rule `lockstep/retired-words`: words that this project has given up for the field's standard terms do not come
 * back, neither in comments nor in the names of exported declarations. The glossaries (engine/README.md, sim/README.md)
 * say what the terms mean.
 */

/** A retired word as it stands in prose and in names, and what to write instead. */
const retired = [
  { word: 'whoever', instead: 'the actor: the coordinator, a replica, the client, the caller' },
  { word: 'somebody', instead: 'the actor: the coordinator, a replica, the client, the caller' },
  { word: 'heir', plural: 'heirs', instead: 'replacement, or new owner' },
  { word: 'estate', instead: 'leave drain' },
  { word: 'inheritance', instead: 'replacement takeover' },
  { word: 'leftovers', instead: 'applied-branch cleanup' },
  { word: 'astray', instead: 'not yet replicated' },
  { word: 'kin', instead: 'replica group' },
  { word: 'desk', instead: 'admin' },
  { word: 'strays', instead: 'unlisted segments' },
  { word: 'farewell', instead: 'lingering close' },
  { word: 'pulse', plural: 'pulses', instead: 'heartbeat' },
  { word: 'misfit', plural: 'misfits', instead: 'cross-field check' },
  { word: 'witness', plural: 'witnesses', instead: 'observer' },
  { word: 'atlas', instead: 'disk losses' },
  { word: 'mended', instead: 'repaired' },
  { word: 'happening', plural: 'happenings', instead: 'event' },
  { word: 'undertaking', instead: 'bench process' },
  { word: 'stranger', plural: 'strangers', instead: 'unauthenticated client' },
  { word: 'loans', instead: 'borrowed buffers' },
  { word: 'seat', plural: 'seats', instead: 'node slot' },
];

/** Words that are retired as names only: in prose they are also plain English. */
const retiredNames = [
  { word: 'room', plural: 'rooms', instead: 'module, services, harness or context: what it is' },
  { word: 'plant', plural: 'plants', instead: 'mutant' },
  { word: 'bug', plural: 'bugs', instead: 'mutant (an edit of the built engine), failure or fault' },
  { word: 'story', plural: 'stories', instead: 'description, scenario or history: what it is' },
  { word: 'garbage', instead: 'malformed input' },
];

/** Words that are gone from every identifier, and from the dotted names of events and tasks. */
const retiredIdentifiers = [
  { word: 'heritage', instead: 'token assignment' },
  { word: 'hindrance', instead: 'notReadyReason' },
  { word: 'mover', plural: 'movers', instead: 'ring-change coordinator, or changing members' },
  { word: 'surplus', instead: 'cleanup' },
  { word: 'refill', plural: 'refilling', instead: 'rebuild' },
];

const inProse = new Map([...retired, ...retiredIdentifiers].flatMap(entriesOf));
const inNames = new Map([...retired, ...retiredNames].flatMap(entriesOf));
const inIdentifiers = new Map(retiredIdentifiers.flatMap(entriesOf));
/** The name of an event or a task: `transfer.rebuild.began`. */
const dottedName = /^[a-z]+(?:[.][a-z-]+)+$/;
const prosePattern = new RegExp(`\\b(${[...inProse.keys()].join('|')})\\b`, 'gi');

function entriesOf({ word, plural, instead }) {
  return [word, ...(plural === undefined ? [] : [plural])].map((one) => [one, instead]);
}

/** `RingChangeCoordinator` -> ring, change, coordinator. */
function wordsOf(name) {
  return name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)?.map((word) => word.toLowerCase()) ?? [];
}

/** Code in backquotes names things as they are. */
function withoutCode(text) {
  return text.replace(/`[^`]*`/g, (code) => ' '.repeat(code.length));
}

function checkComments({ sourceCode, report }) {
  for (const comment of sourceCode.getAllComments()) {
    for (const [word] of withoutCode(comment.value).matchAll(prosePattern)) {
      const instead = inProse.get(word.toLowerCase());
      report({ loc: comment.loc, message: `"${word}" is a retired word; write ${instead}` });
    }
  }
}

function checkName(report, id) {
  if (id?.type !== 'Identifier') return;
  for (const word of wordsOf(id.name)) {
    const instead = inNames.get(word);
    if (instead !== undefined)
      report({ node: id, message: `"${id.name}" has a retired word; say ${instead}` });
  }
}

function checkIdentifier(report, node, name) {
  for (const word of wordsOf(name)) {
    const instead = inIdentifiers.get(word);
    if (instead !== undefined) report({ node, message: `"${name}" has a retired word; say ${instead}` });
  }
}

export const retiredWords = {
  meta: { type: 'suggestion', schema: [] },
  create: (context) => {
    const report = (problem) => context.report(problem);
    return {
      Program: () => checkComments({ sourceCode: context.sourceCode, report }),
      Identifier: (node) => checkIdentifier(report, node, node.name),
      PrivateIdentifier: (node) => checkIdentifier(report, node, node.name),
      Literal: (node) => {
        if (dottedName.test(String(node.value))) checkIdentifier(report, node, String(node.value));
      },
      ExportNamedDeclaration: ({ declaration }) => {
        checkName(report, declaration?.id);
        for (const { id } of declaration?.declarations ?? []) checkName(report, id);
      },
    };
  },
};
