/** Files that are hard to name, to read or to keep: every one is kept exactly, or no success is claimed. */
import { judgedBy, keeps, keepsOrNoSuccess, noSuccess } from '../checks.mjs';

const ODD_NAMES = [
  'src/\xff\xfe.txt',
  'src/new\nline',
  'src/-rf',
  'src/quo"te\'s',
  'src/ space ',
  'src/tab\there',
  'src/:(glob)*',
  'src/back\\slash',
];

/** A file's mode or size is as the worker left it. */
const keepsAs =
  (name, right, what) =>
  (_, { findWork }) =>
    findWork(name).some(right) ? [] : [{ text: `${name} is not kept ${what}`, told: null }];

/** @type {readonly Omit<import('../stage.mjs').Probe, 'kind'>[]} */
export const inventory = [
  {
    name: 'odd-names',
    says: 'makes files whose names have bytes that are no text, line ends, quotes, leading dashes and glob characters',
    worker: `legal
perl -e 'for my $n ("\\xff\\xfe.txt", "new\\nline", "-rf", "quo\\"te\\x27s", " space ", "tab\\there", ":(glob)*", "back\\\\slash")
  { open my $f, ">", "src/$n" or die "$n: $!"; print $f "odd\\n" }'`,
    judge: judgedBy(keeps(), ...ODD_NAMES.map((name) => keeps(name, 'odd'))),
  },
  {
    name: 'symlink-out',
    says: 'leaves symlinks that leave the workspace',
    worker: 'legal; ln -s /etc/passwd src/one; ln -s ../../../../outside src/two',
    judge: judgedBy(noSuccess, keeps('src/one'), keeps()),
  },
  {
    name: 'symlink-chain-out',
    says: 'leaves a symlink that leaves the workspace through another symlink',
    worker: 'legal; ln -s .. src/up; ln -s up/../../outside src/two',
    judge: judgedBy(noSuccess, keeps('src/two'), keeps()),
  },
  {
    name: 'setuid',
    says: 'leaves a setuid program',
    worker: 'legal; cp /bin/true src/tool; chmod 4755 src/tool',
    judge: judgedBy(noSuccess, keeps('src/tool'), keeps()),
  },
  {
    name: 'fifo',
    says: 'leaves a named pipe, at which a reader waits for ever',
    worker: 'legal; mkfifo src/pipe',
    judge: judgedBy(noSuccess, keeps()),
  },
  {
    name: 'socket',
    says: 'leaves a socket',
    worker: `legal; perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "src/socket", Listen => 1) or die $!'`,
    judge: judgedBy(noSuccess, keeps()),
  },
  {
    name: 'unreadable-folder',
    says: 'takes all rights from a folder with work in it',
    worker: 'legal; mkdir src/closed; echo in > src/closed/in.txt; chmod 0 src/closed',
    judge: judgedBy(keeps(), keepsOrNoSuccess('src/closed/in.txt')),
  },
  {
    name: 'longer-than-path-max',
    says: 'makes a file whose path no system call takes',
    worker: `legal; perl -e 'chdir "src"; for (1 .. 20) { my $d = "d" x 240; mkdir $d; chdir $d or die } open my $f, ">", "deep"; print $f "deep"'`,
    judge: judgedBy(noSuccess, keeps()),
  },
  {
    name: 'many-files',
    says: 'makes 10,000 new files',
    worker: `legal; mkdir src/many; perl -e 'for (1 .. 10000) { open my $f, ">", "src/many/$_.txt"; print $f "file $_\\n" }'`,
    judge: judgedBy(keeps('src/many/1.txt', 'file 1'), keeps('src/many/10000.txt', 'file 10000'), keeps()),
  },
  {
    name: 'sparse-giant',
    says: 'makes a sparse file of 2 GB',
    worker: 'legal; truncate -s 2G src/giant',
    judge: judgedBy(
      keeps(),
      keepsAs('src/giant', ({ size }) => size === 2 ** 31, 'with its size'),
    ),
  },
  {
    name: 'empty-file',
    says: 'makes an empty file and nothing else',
    worker: ': > src/empty',
    judge: judgedBy(keepsAs('src/empty', ({ size }) => size === 0, 'empty')),
  },
  {
    name: 'mode-only',
    says: 'changes nothing but the mode of a file',
    worker: 'chmod -x src/tool.sh',
    judge: judgedBy(keepsAs('src/tool.sh', ({ mode }) => mode === '100644', 'with its mode')),
  },
  {
    name: 'file-becomes-folder',
    says: 'puts a folder in the place of a file and a file in the place of a folder',
    prepare: (world) => {
      world.write('src/folder/f.txt', 'f\n');
      world.commit('folder');
    },
    worker: 'rm src/a.txt; mkdir src/a.txt; echo in > src/a.txt/in.txt; rm -r src/folder; echo file > src/folder',
    judge: judgedBy(keeps('src/a.txt/in.txt'), keeps('src/folder', 'file')),
  },
  {
    name: 'removal',
    says: 'removes a file and ends with an error',
    worker: 'rm src/tool.sh; legal; exit 3',
    judge: judgedBy(noSuccess, keeps()),
  },
  {
    name: 'crlf-bytes',
    says: 'writes line ends that the repository would convert, where the exact bytes matter',
    prepare: (world) => {
      world.write('.gitattributes', '*.txt text\n');
      world.commit('attributes');
      world.git('config', 'core.autocrlf', 'true');
    },
    worker: "legal; printf 'one\\r\\ntwo\\n' > src/ends.txt",
    judge: judgedBy(keeps('src/ends.txt', 'one\r\ntwo\n'), keeps()),
  },
  {
    name: 'secret-file',
    says: 'leaves new files that look like secrets',
    worker: 'legal; echo KEY=1 > src/.env; echo x > src/id_rsa',
    judge: judgedBy(noSuccess, keeps()),
  },
];
